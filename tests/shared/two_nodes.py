"""A Ray cluster of two nodes on this machine, on 127.0.0.1 alone, as a process of its own: prints its addresses and the
processes of its nodes, and ends with its standard input.

    python two_nodes.py [CORES [GPUS [CLIENT_PORT]]]
"""

import json
import os
import sys

os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on Linux the one way to make all of it listen on 127.0.0.1

from ray.cluster_utils import Cluster

MEMORY = 128 << 20


def processes(node):
    return {kind: [each.process.pid for each in some] for kind, some in node.all_processes.items()}


def main(cores=1, gpus=0, client=0):
    each = {"num_cpus": cores, "num_gpus": gpus, "object_store_memory": MEMORY}
    served = {"ray_client_server_port": client} if client else {}
    cluster = Cluster(initialize_head=True, head_node_args={**each, **served, "include_dashboard": False})
    second = cluster.add_node(**each)
    found = {"address": cluster.address, "head": processes(cluster.head_node), "second": processes(second)}
    print(json.dumps(found), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
