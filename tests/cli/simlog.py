# SPDX-License-Identifier: Apache-2.0
"""Reads the exact log of the simulated CUDA stack (tests/simcuda/simcuda.h, "Log")."""


def parse_value(text):
    try:
        return int(text, 0)
    except ValueError:
        return text


def read_log(path):
    """One dict per line: tag, and for calls function, result, thread, sequence and their fields."""
    events = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.endswith("\n"):
                break  # the process was killed while writing
            fields = line.rstrip("\n").split("\t")
            event = {"tag": fields[0]}
            if event["tag"] in ("call", "rt", "blas", "nccl"):
                event["sequence"], event["thread"] = int(fields[1]), int(fields[2])
                event["function"], event["result"] = fields[3], int(fields[4])
                rest = fields[5:]
            elif event["tag"] == "gpu":
                event["correlation"], event["kind"] = int(fields[1]), fields[2]
                event["begin_ns"], event["end_ns"] = int(fields[3]), int(fields[4])
                rest = fields[5:]
            else:
                event["bytes"], rest = int(fields[1]), fields[2:]
            for field in rest:
                key, _, value = field.partition("=")
                event[key] = parse_value(value)
            events.append(event)
    return events
