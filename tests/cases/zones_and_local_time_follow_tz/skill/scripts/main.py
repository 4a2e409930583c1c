import time, datetime, logging, os, sys
from zoneinfo import ZoneInfo, available_timezones
print(time.tzname, time.timezone, time.altzone, time.daylight)
print(time.localtime(0)[:9], time.localtime(1720000000)[:9], time.localtime(0).tm_zone, time.localtime(1720000000).tm_gmtoff)
print(time.strftime("%Y-%m-%d %H:%M:%S %Z %z %%Z", time.localtime(1720000000)))
print(time.mktime((2024, 7, 3, 11, 46, 40, 0, 0, -1)), time.mktime((2024, 1, 1, 0, 0, 0, 0, 0, -1)), time.ctime(1720000000))
d = datetime.datetime.fromtimestamp(1720000000)
print(d, d.astimezone(), d.timestamp(), d.astimezone(datetime.timezone.utc), d.tzinfo, datetime.date.fromtimestamp(1719964800 - 3600))
print(datetime.datetime(2024, 1, 1, 12).astimezone().isoformat(), datetime.datetime(2024, 1, 1).timestamp())
print(datetime.datetime(2024, 1, 1, 12, tzinfo=ZoneInfo("America/New_York")).astimezone(), datetime.datetime.fromtimestamp(0, ZoneInfo("Asia/Tokyo")))
now = datetime.datetime.now()
utc = datetime.datetime.now(datetime.timezone.utc)
print(type(now) is datetime.datetime, abs((now.astimezone() - utc).total_seconds()) < 5, datetime.datetime.today() - now < datetime.timedelta(seconds=5), datetime.date.today() == now.date())
print(len(available_timezones()) > 400, "Europe/Berlin" in available_timezones())
print(datetime.datetime(2024, 3, 31, 2, 30).timestamp(), datetime.datetime(2024, 10, 27, 2, 30).timestamp(), datetime.datetime(2024, 10, 27, 2, 30, fold=1).timestamp())
logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stdout)
record = logging.LogRecord("a", 20, "f", 1, "logged", None, None)
record.created, record.msecs = 1720000000.0, 0
print(logging.getLogger().handlers[0].format(record))
os.environ["TZ"] = "America/New_York"
time.tzset()
print(time.strftime("%H:%M %Z", time.localtime(1720000000)), datetime.datetime.fromtimestamp(1720000000))
os.environ["TZ"] = "XYZ-3"
time.tzset()
print(time.strftime("%H:%M %Z %z", time.localtime(1720000000)), time.tzname, datetime.datetime.fromtimestamp(1720000000).astimezone())
os.environ["TZ"] = "UTC"
time.tzset()
print(time.strftime("%H:%M %Z %z", time.localtime(1720000000)), datetime.datetime.fromtimestamp(1720000000).astimezone())
