import csv, io, hashlib, hmac, base64, struct, decimal, fractions, statistics, textwrap, difflib, html, tomllib, configparser
import xml.etree.ElementTree as ET, xml.dom.minidom, unicodedata, string, itertools, heapq, bisect, collections, email.message, mimetypes, shlex, calendar, urllib.parse, graphlib, ipaddress, colorsys
out = io.StringIO()
csv.writer(out).writerows([["a", "b,c"], [1, 'q"']])
print(repr(out.getvalue()), list(csv.DictReader(io.StringIO("x,y\n1,2\n"))))
print(hashlib.sha256(b"x").hexdigest()[:16], hashlib.md5(b"x").hexdigest()[:8], hashlib.blake2b(b"x", digest_size=4).hexdigest(), hashlib.sha3_256(b"x").hexdigest()[:8], hmac.new(b"k", b"m", "sha1").hexdigest()[:8])
print(hashlib.pbkdf2_hmac("sha256", b"pw", b"salt", 10).hex()[:16], hashlib.file_digest(io.BytesIO(b"x"), "sha1").hexdigest()[:8])
print(base64.b64encode(b"hello"), struct.pack("<Ih", 1, -1), decimal.Decimal("1.10") + 1, fractions.Fraction(1, 3), statistics.median([3, 1, 2]))
print(textwrap.fill("word " * 10, 20), list(difflib.unified_diff(["a"], ["b"], lineterm="")), html.escape("<&>"))
print(tomllib.loads("a = 1\n[b]\nc = 2024-01-01"), dict(configparser.ConfigParser()["DEFAULT"]))
root = ET.fromstring("<a x='1'><b>t</b></a>")
print(root.find("b").text, ET.tostring(root), xml.dom.minidom.parseString("<a><b/></a>").toprettyxml(indent=" ").split())
print(unicodedata.normalize("NFD", "é").encode(), string.Template("$a").substitute(a=1), shlex.split("a 'b c'"), calendar.monthrange(2024, 2), mimetypes.guess_type("a.json"))
print(urllib.parse.urlencode({"q": "a b", "ü": 1}), urllib.parse.urlparse("https://a.b/c?d=e#f").netloc, list(graphlib.TopologicalSorter({1: {2}}).static_order()), ipaddress.ip_network("10.0.0.0/30").num_addresses)
message = email.message.EmailMessage()
message["Subject"] = "Grüße"
message.set_content("Text ü")
print(message.as_string().splitlines()[0], f"{1234567.891:,.2f}", f"{'x':>5}|", format(255, "#x"), t if (t := 5) else 0)
