import json, lxml
from os import environ
import requests
requests.get('https://api.acme.dev', headers=environ['TOKEN'])
