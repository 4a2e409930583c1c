"""Local time.

libc on WASI knows no time zone but UTC, and the C parts of `time` and `datetime` ask libc. So the
zones of the `tzdata` package are part of the snapshot, and when `TZ` names another zone than UTC
the functions that speak of local time are exchanged for ones that ask `zoneinfo`. In UTC, the
usual case, nothing is exchanged and nothing costs more.

The methods of `datetime.datetime` are exchanged in the type's own dictionary. A subclass in its place
would not do: `type(x) is datetime`, pickles and the types other modules hold would differ.
"""

import gc
import io
import logging
import os
import re
import struct
import sys
import time
import zoneinfo
from datetime import date, datetime, timedelta, timezone

# Zone name -> contents of its TZif file.
_zones = {}
_zone = None


def embed(directory):
    """Takes in every zone of the `tzdata` package and serves them to `zoneinfo`."""
    seen = {}
    with open(directory + "/zones", encoding="utf-8") as file:
        names = file.read().split()
    for name in names:
        with open(f"{directory}/zoneinfo/{name}", "rb") as file:
            data = file.read()
        # Half of the names are links to other zones: keep one copy.
        _zones[name] = seen.setdefault(data, data)

    def load_tzdata(key):
        if key not in _zones:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(_zones[key])

    zoneinfo._common.load_tzdata = load_tzdata
    zoneinfo.available_timezones = lambda: set(_zones)
    zoneinfo.reset_tzpath(())
    time.tzset = tzset


def tzset():
    """Follows `TZ` as it is now."""
    begin(os.environ.get("TZ", ""))


def begin(name):
    """Follows a value of `TZ`."""
    name = name.removeprefix(":")
    zone = None if name in ("", "UTC", "UTC0", "Etc/UTC") else _find(name)
    if zone is _zone is None:
        # As in the snapshot.
        return
    if zone is not None:
        _exchange(_LOCAL_TIME, _LOCAL_DATE, _LOCAL_DATETIME)
    elif _zone is not None:
        _exchange(_LIBC_TIME, _LIBC_DATE, _LIBC_DATETIME)
    _set(zone)


def _find(name):
    if name in _zones:
        return zoneinfo.ZoneInfo(name)
    try:
        return zoneinfo.ZoneInfo.from_file(io.BytesIO(_tzif(name)), key=name)
    except ValueError:
        # As libc does it: what cannot be understood is UTC.
        return None


def _tzif(rule):
    """A zone file that holds nothing but a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`."""
    counts = (0, 0, 0, 0, 1, 4)
    block = struct.pack(">4sc15x6l", b"TZif", b"2", *counts) + struct.pack(">lbb", 0, 0, 0) + b"UTC\0"
    return block + block + b"\n" + rule.encode("ascii", "replace") + b"\n"


def _exchange(functions, of_date, of_datetime):
    for name, function in functions.items():
        setattr(time, name, function)
    # A type made in C refuses assignment, but its dictionary is an ordinary one.
    gc.get_referents(date.__dict__)[0].update(of_date)
    gc.get_referents(datetime.__dict__)[0].update(of_datetime)
    # Method lookups are cached by the version of the type, which this did not change.
    sys._clear_internal_caches()
    logging.Formatter.converter = functions["localtime"]


def _set(zone):
    global _zone
    _zone = zone
    if zone is None:
        time.timezone = time.altzone = time.daylight = 0
        time.tzname = ("UTC", "UTC")
        return
    # As libc does it, from the two halves of the present year.
    year = time.gmtime().tm_year
    winter, summer = (datetime(year, month, 1, tzinfo=zone) for month in (1, 7))
    if winter.dst() and not summer.dst():
        winter, summer = summer, winter
    time.timezone = -int(winter.utcoffset().total_seconds())
    time.altzone = -int(summer.utcoffset().total_seconds())
    time.daylight = int(winter.utcoffset() != summer.utcoffset())
    time.tzname = (winter.tzname(), summer.tzname())


class _Function:
    """Like a built-in function, and unlike a Python function, it does not bind as a method:
    classes hold `time.localtime` as an attribute."""

    def __init__(self, function):
        self.__name__ = self.__qualname__ = function.__name__.lstrip("_")
        self.__module__ = "time"
        self._function = function

    def __repr__(self):
        return f"<built-in function {self.__name__}>"

    def __call__(self, *args):
        return self._function(*args)


def _localtime(seconds=None, /):
    if seconds is None:
        seconds = time.time()
    local = _from_timestamp(datetime, int(seconds // 1), _zone)
    is_dst = 1 if local.dst() else 0
    fields = local.timetuple()[:8]
    return time.struct_time((*fields, is_dst, local.tzname(), int(local.utcoffset().total_seconds())))


def _mktime(fields, /):
    year, month, day, hour, minute, second, _, _, is_dst = tuple(fields)[:9]
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    wall = datetime(year, month, 1) + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    first = wall.replace(tzinfo=_zone, fold=0)
    second_try = wall.replace(tzinfo=_zone, fold=1)
    if is_dst >= 0 and bool(first.dst()) != bool(is_dst):
        if bool(second_try.dst()) == bool(is_dst):
            return _timestamp(second_try)
        # Summer time was asked for in winter, or the other way round: libc shifts by the difference.
        shift = time.timezone - time.altzone if time.daylight else 0
        return _timestamp(first) + (-shift if is_dst else shift)
    return _timestamp(first)


def _strftime(format, fields=None, /):
    if fields is None:
        fields = _localtime()

    def zone_of(match):
        if match[0] == "%%":
            return match[0]
        is_dst = fields[8]
        name = getattr(fields, "tm_zone", None)
        offset = getattr(fields, "tm_gmtoff", None)
        if name is None:
            name = "" if is_dst < 0 else time.tzname[1 if is_dst else 0]
            offset = 0 if is_dst < 0 else -(time.altzone if is_dst else time.timezone)
        if match[0] == "%Z":
            return name.replace("%", "%%")
        sign, offset = ("-", -offset) if offset < 0 else ("+", offset)
        return f"{sign}{offset // 3600:02}{offset // 60 % 60:02}"

    return _LIBC_TIME["strftime"](re.sub("%[%zZ]", zone_of, format), fields)


def _ctime(seconds=None, /):
    return _LIBC_TIME["asctime"](_localtime(seconds))


def _asctime(fields=None, /):
    return _LIBC_TIME["asctime"](_localtime() if fields is None else fields)


def _date_fromtimestamp(cls, timestamp, /):
    local = _from_timestamp(datetime, timestamp, _zone)
    return cls(local.year, local.month, local.day)


def _today(cls):
    return cls.fromtimestamp(time.time())


def _now(cls, tz=None):
    if tz is not None:
        return _LIBC_DATETIME["now"].__get__(None, cls)(tz)
    return _LIBC_DATETIME["now"].__get__(None, cls)(_zone).replace(tzinfo=None)


def _fromtimestamp(cls, timestamp, tz=None):
    if tz is not None:
        return _from_timestamp(cls, timestamp, tz)
    return _from_timestamp(cls, timestamp, _zone).replace(tzinfo=None)


def _timestamp_of(self):
    return _timestamp(self if self.tzinfo is not None else self.replace(tzinfo=_zone))


def _astimezone(self, tz=None):
    if self.tzinfo is None or self.utcoffset() is None:
        self = self.replace(tzinfo=_zone)
    if tz is not None:
        return _LIBC_DATETIME["astimezone"](self, tz)
    local = _LIBC_DATETIME["astimezone"](self, _zone)
    return local.replace(tzinfo=timezone(local.utcoffset(), local.tzname()), fold=0)


def _from_timestamp(cls, timestamp, tz):
    return _LIBC_DATETIME["fromtimestamp"].__get__(None, cls)(timestamp, tz)


def _timestamp(aware):
    return _LIBC_DATETIME["timestamp"](aware)


def _named(name, function):
    function.__name__ = name
    function.__qualname__ = f"datetime.{name}"
    return function


_LOCAL_TIME = {f.__name__[1:]: _Function(f) for f in (_localtime, _mktime, _strftime, _ctime, _asctime)}
_LOCAL_DATE = {
    "today": classmethod(_named("today", _today)),
    "fromtimestamp": classmethod(_named("fromtimestamp", _date_fromtimestamp)),
}
_LOCAL_DATETIME = {
    "now": classmethod(_named("now", _now)),
    "fromtimestamp": classmethod(_named("fromtimestamp", _fromtimestamp)),
    "timestamp": _named("timestamp", _timestamp_of),
    "astimezone": _named("astimezone", _astimezone),
}
_LIBC_TIME = {name: getattr(time, name) for name in _LOCAL_TIME}
_LIBC_DATE = {name: date.__dict__[name] for name in _LOCAL_DATE}
_LIBC_DATETIME = {name: datetime.__dict__[name] for name in _LOCAL_DATETIME}
