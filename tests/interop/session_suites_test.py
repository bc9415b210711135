"""The suites of tests/session, which use Weir's C++ client, on clusters with servers of TensorFlow.

  session_suites_test.py WEIR SESSION_TEST FIRST SECOND [OPTION...]    WEIR is the weir program, SESSION_TEST the suites'
      program. FIRST and SECOND, weir or tensorflow, say whose the tasks are; the first one's master runs the sessions.
      OPTIONs of GoogleTest take the place of the choice of tests below.
"""
import os
import subprocess
import sys

import weir_cluster

weir_cluster.run_with_tensorflow()
import mixed_cluster

SECONDS = 500
# Tests that fail with a TensorFlow task anywhere in the cluster, then with TensorFlow's master; each with what it does instead.
NOT_WITH_TENSORFLOW = [
    "ControlFlowTest.AFetchThatDidNotRunIsAnError/*",  # INTERNAL
    "ErrorTest.ACallableRefusesAnotherType/*",  # INTERNAL
    "ErrorTest.AFeedHasTheTypeOfWhatItReplaces/*",  # INTERNAL
    "ErrorTest.AFailingStepNamesNodeOpAndDevice/*",  # the node is in the message, the rest is not told
]
NOT_ON_TENSORFLOW = [
    "CancellationTest.ACancelledStepEndsEverywhere/*",  # tells the call's end as the reason, not the caller's
    "ControlFlowTest.AnErrorInALoopNamesItsNode/*",  # its optimizer removes the node, whose value nobody reads
    "ErrorTest.ADeviceThatIsNotThereIsAnErrorOfTheStepThatNeedsIt/*",  # CreateSession fails
    "PartialRunTest.AFetchNeedsItsFeeds/*",  # names the feed that is missing in place of the fetch
]


def main():
    weir, session_test, *kinds = sys.argv[1:5]
    tensorflow = {("worker", task) for task, kind in enumerate(kinds) if kind == "tensorflow"}
    cluster = mixed_cluster.MixedCluster(weir, {"worker": len(kinds)}, tensorflow)
    weir_cluster.end_after(SECONDS, cluster)
    without = NOT_WITH_TENSORFLOW + (NOT_ON_TENSORFLOW if kinds[0] == "tensorflow" else [])
    command = [session_test] + (sys.argv[5:] or ["--gtest_filter=-" + ":".join(without)])
    environment = dict(os.environ, WEIR_SESSION_CLUSTER=cluster.addresses[0])
    code = subprocess.run(command, env=environment, check=False).returncode
    if code != 0:
        print(cluster.logs())
    cluster.stop()
    sys.exit(code)


if __name__ == "__main__":
    main()
