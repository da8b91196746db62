"""A tool that writes each number to a file of its own, so that what was done is known from elsewhere.

`tool.py LOG NUMBER`. It takes a while before and after, so that a kill meets it in both states.
"""

import os
import random
import sys
import time

log, number = sys.argv[1:]
time.sleep(random.uniform(0, 0.15))
file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(file, f"{number}\n".encode())
time.sleep(random.uniform(0, 0.15))
print(f"heard {number}.")
