"""Reads a token from a file for each request, as a pod does whose token is replaced.

Prints one JSON object. WEIR_TOKEN_FILE has the token, and WEIR_NEXT_TOKEN the one that replaces it.
"""

import json
import os
from pathlib import Path

from openai import OpenAI

file = Path(os.environ["WEIR_TOKEN_FILE"])
client = OpenAI(base_url=f"{os.environ['WEIR_ORIGIN']}/v1", api_key=lambda: file.read_text().strip(), max_retries=0)


def ask():
    messages = [{"role": "user", "content": "What is a weir?"}]
    answer = client.chat.completions.create(model=os.environ["WEIR_MODEL"], messages=messages)
    return answer.choices[0].message.content


before = ask()
file.write_text(os.environ["WEIR_NEXT_TOKEN"])
print(json.dumps({"before": before, "after": ask()}))
