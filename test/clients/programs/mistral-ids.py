"""Reads conversations as an engine gets them, one a line, and says of each whether mistral-common takes it."""

import json
import sys

from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV3

validator = MistralRequestValidatorV3()
for line in sys.stdin:
    try:
        validator.validate_messages(ChatCompletionRequest.from_openai(messages=json.loads(line)).messages)
        print("taken")
    except Exception as error:  # noqa: BLE001
        print(f"{type(error).__name__}: {error}"[:200].replace("\n", " "))
