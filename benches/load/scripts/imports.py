"""Imports what scripts of skills most often import."""

import argparse
import csv
import datetime
import hashlib
import json
import pathlib
import re

print(
    json.dumps([m.__name__ for m in (argparse, csv, datetime, hashlib, json, pathlib, re)])
)
