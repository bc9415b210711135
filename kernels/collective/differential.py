"""Collectives of groups that have one member; those of several are in tests/interop/collective_test.py."""
import itertools

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

# A server remembers an instance, with its type and shape: each case is one of its own.
instances = {group: itertools.count(1000 * group) for group in (11, 12, 13, 14)}


def attributed(group, shape=(2, 3), **more):
    return lambda t: dict(input=V(shape, t), group_size=1, group_key=group, instance_key=next(instances[group]), **more)


REDUCTIONS = [dict(merge_op=merge, final_op=final) for merge in ("Add", "Mul", "Min", "Max") for final in ("Id", "Div")]
row("CollectiveReduce", 0, *[each(attributed(11, subdiv_offsets=[0], **r)) for r in REDUCTIONS],
    each(attributed(11, (), merge_op="Add", final_op="Id", subdiv_offsets=[0])))


def keyed(group, **more):
    """V2 cases: what V1 has as attributes are inputs."""
    return lambda t: dict(input=V((2, 3), t), group_size=1, group_key=group, instance_key=next(instances[group]),
                          ordering_token=[], **more)


row("CollectiveReduceV2", 0, *[each(keyed(12, **r)) for r in REDUCTIONS])
row("CollectiveGather", 0, each(lambda t: dict(attributed(13)(t), shape=[2, 3])))
row("CollectiveGatherV2", 0, each(keyed(14)))
row("CollectiveAssignGroupV2", 0,
    *[plain(dict(group_assignment=Fed(np.array(assignment, np.int32)), device_index=Fed(np.int32(index)),
                 base_key=Fed(np.int32(base))))
      for assignment, index, base in (([[0, 1], [2, 3]], 3, 5), ([[0, 1], [2, 3]], 4, 5), ([[0, 1], [2, 9]], 3, 5),
                                      ([[0, 1], [2, 3]], 0, 0), ([[-1]], 0, 1), ([[0]], 0, 2**31 - 1))])
elsewhere("CollectiveAllToAllV2 CollectiveAllToAllV3 CollectiveReduceScatterV2 CollectiveReduceV3 CollectiveInitializeCommunicator "
          "CollectiveBcastSend CollectiveBcastSendV2 CollectiveBcastRecv CollectiveBcastRecvV2",
          "TensorFlow's local session has no collective executor for these: tests/interop/collective_test.py has them, in groups")
