"""A tool: has the shop carry out a call, and prints what it says. It takes a while before and after, so that kills meet it.

`call.py PORT NAME KEY=VALUE…`.
"""

import http.client
import json
import random
import sys
import time

port, name, *given = sys.argv[1:]
arguments = dict(one.split("=", 1) for one in given)
arguments = {key: json.loads(value) if value.startswith("[") else value for key, value in arguments.items()}
time.sleep(random.uniform(0, 0.1))
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=25)
connection.request("POST", "/call", json.dumps({"task": arguments.pop("task"), "name": name, "arguments": arguments}))
said = connection.getresponse().read().decode()
time.sleep(random.uniform(0, 0.1))
print(said)
