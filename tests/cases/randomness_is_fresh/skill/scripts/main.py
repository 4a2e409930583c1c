import random, uuid, secrets, os, tempfile
random.seed(1)
print(random.random())
print(len({random.SystemRandom().random(), secrets.token_hex(8), uuid.uuid4(), os.urandom(8)}), uuid.uuid4().version, uuid.uuid1().version)
