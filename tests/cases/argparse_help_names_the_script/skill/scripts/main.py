import argparse
parser = argparse.ArgumentParser(description="Counts.")
parser.add_argument("path")
parser.add_argument("-n", "--number", type=int, default=3, help="how many (default: %(default)s)")
print(parser.parse_args())
