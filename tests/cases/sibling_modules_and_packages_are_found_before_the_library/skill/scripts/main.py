import app, run, stdlib, script, calendar, secrets, statistics
import helpers.text
from helpers import text
print(app.NAME, run.NAME, stdlib.NAME, script.NAME, calendar.NAME, secrets.NAME, statistics.NAME)
print(text.shout("hi"), helpers.text.__file__)
import json, email.utils
print(json.__file__, email.utils.formatdate(0))
