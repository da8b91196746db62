"""Writes what the tasks of AgentDojo do, as JSON: record.py FILE. Runs where the package `agentdojo` is installed.

AgentDojo has for each task the calls that fulfil it. They run in AgentDojo's own environment here, so that each call has
the result that a model would see, with the injected text in it.
"""

import json
import sys

from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks.baseline_attacks import DirectAttack
from agentdojo.functions_runtime import FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites

VERSION = "v1.2.2"


def performed(runtime, environment, calls):
    """Runs calls; returns each with its arguments and its result."""
    done = []
    for call in calls:
        arguments = runtime._execute_nested_calls(environment, call.args)
        result, error = runtime.run_function(environment, call.function, arguments)
        text = error or tool_result_to_str(result)
        done.append({"tool": call.function, "arguments": json.loads(json.dumps(arguments, default=str)), "result": text})
    return done


def recorded(suite):
    runtime = FunctionsRuntime(suite.tools)
    attack = DirectAttack(suite, GroundTruthPipeline(None))
    schemas = {tool.name: tool.parameters.model_json_schema() for tool in suite.tools}
    users, attacks = [], []
    for task in suite.user_tasks.values():
        environment = task.init_environment(suite.load_and_inject_default_environment({}))
        calls = performed(runtime, environment, task.ground_truth(environment))
        users.append({"task": task.ID, "calls": calls})
        for goal in suite.injection_tasks.values():
            try:
                texts = attack.attack(task, goal)
            except ValueError:
                # The task sees none of the places where a text can be injected.
                continue
            environment = task.init_environment(suite.load_and_inject_default_environment(texts))
            seen, before = False, []
            for call in task.ground_truth(environment):
                before += performed(runtime, environment, [call])
                if seen := any(text[:16] in before[-1]["result"] for text in texts.values()):
                    break
            injected = performed(runtime, environment, goal.ground_truth(environment))
            attacks.append(
                {"task": task.ID, "goal": goal.ID, "seen": seen, "calls": before, "injected": injected}
            )  # fmt: skip
    return {"tools": schemas, "users": users, "attacks": attacks}


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump({name: recorded(suite) for name, suite in get_suites(VERSION).items()}, file)
