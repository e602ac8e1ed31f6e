#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the machines of this folder as XML for hwloc (HWLOC_XMLFILE), as small as hwloc reads them.

Usage: tests/machines/write.py [FOLDER]. Each machine is a tree of objects; cores and processing units are numbered as the
operating system of such a machine does it. tests/core/machines.c says what is to be made of them.
"""
import os
import sys

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


def bits(numbers):
    mask, words = sum(1 << n for n in set(numbers)), []
    while mask or not words:
        words.insert(0, f"0x{mask & 0xffffffff:x}")
        mask >>= 32
    return ",".join(words)


class Machine:
    def __init__(self, offline=(), disallowed=()):
        self.lines, self.offline, self.disallowed = [], set(offline), set(disallowed)

    def core(self, index, pus):
        return ("Core", index, [("PU", pu, []) for pu in pus if pu not in self.offline], {"all": pus})

    @staticmethod
    def pus(node):
        return [node[1]] if node[0] == "PU" else [pu for child in node[2] if child[0] != "NUMANode"
                                                  for pu in Machine.pus(child)]

    @staticmethod
    def every(node):
        """The same with those that are offline."""
        if node[0] == "PU":
            return [node[1]]
        return node[3]["all"] if node[0] == "Core" else [pu for child in node[2] if child[0] != "NUMANode"
                                                         for pu in Machine.every(child)]

    @staticmethod
    def nodes(node):
        return [node[1]] if node[0] == "NUMANode" else [n for child in node[2] for n in Machine.nodes(child)]

    def write(self, node, local):
        kind, index, children, more = (*node, {})[:4]
        here = [child[1] for child in children if child[0] == "NUMANode"]
        nodes = self.nodes(node) or local
        pus = self.pus(node) if kind != "NUMANode" else more["pus"]
        every = self.every(node) if kind != "NUMANode" else more["pus"]
        text = f'type="{kind}"' + (f' os_index="{index}"' if index is not None else "")
        if kind not in ("PCIDev", "OSDev", "Bridge"):
            text += f' cpuset="{bits(pus)}" complete_cpuset="{bits(every)}"'
            text += f' nodeset="{bits(nodes)}" complete_nodeset="{bits(nodes)}"'
        if kind == "Machine":
            text += f' allowed_cpuset="{bits(set(pus) - self.disallowed)}" allowed_nodeset="{bits(nodes)}"'
        text += "".join(f' {key}="{value}"' for key, value in more.items() if key not in ("all", "pus"))
        self.lines.append(f"<object {text}" + (">" if children else "/>"))
        for child in children:
            self.write(child, here or local)
        if children:
            self.lines.append("</object>")

    def save(self, name, root, kinds=()):
        self.write(root, [])
        head = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
                "<!-- SPDX-License-Identifier: BSD-3-Clause; written by write.py -->", '<topology version="2.0">']
        tail = [f'<cpukind cpuset="{bits(pus)}" forced_efficiency="{speed}"/>' for pus, speed in kinds]
        with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
            file.write("\n".join(head + self.lines + tail + ["</topology>", ""]))


def node(index, pus):
    return ("NUMANode", index, [], {"pus": pus, "local_memory": 1 << 30})


def cache(level, size, children):
    return (f"L{level}Cache", None, children, {"cache_size": size, "depth": level, "cache_linesize": 64,
                                               "cache_associativity": 8, "cache_type": 0})


def gpu(number):
    bus = 0x20 * (number + 1)
    device = ("OSDev", None, [], {"name": f"cuda{number}", "subtype": "CUDA", "osdev_type": 5})
    card = ("PCIDev", None, [device], {"pci_busid": f"0000:{bus:02x}:00.0", "pci_type": "0302 [10de:2330] [0000:0000] a1",
                                       "pci_link_speed": "31.5"})
    return ("Bridge", None, [card], {"bridge_type": "0-1", "depth": 0, "bridge_pci": f"0000:[{bus:02x}-{bus:02x}]"})


def server():
    """2 sockets of 64 cores with 2 threads each: 4 NUMA nodes, 16 caches, a GPU beside each node."""
    m, packages = Machine(), []
    for package in range(2):
        groups = []
        for half in range(2):
            n, caches = 2 * package + half, []
            for c in range(4):
                first = 32 * n + 8 * c
                caches.append(cache(3, 32 << 20, [m.core(i, [i, i + 128]) for i in range(first, first + 8)]))
            group = ("Group", None, [*caches], {"kind": 0, "subkind": 0})
            group[2].insert(0, node(n, m.pus(("", 0, caches))))
            group[2].append(gpu(n))
            groups.append(group)
        packages.append(("Package", package, groups))
    m.save("server.xml", ("Machine", 0, packages))


def laptop():
    """6 fast cores with 2 threads, 8 that save power in clusters of 4, and 2 apart from the big cache that save more."""
    m = Machine()
    fast = [cache(2, 2 << 20, [m.core(i, [2 * i, 2 * i + 1])]) for i in range(6)]
    slow = [cache(2, 2 << 20, [m.core(i, [6 + i]) for i in range(first, first + 4)]) for first in (6, 10)]
    slowest = cache(2, 2 << 20, [m.core(i, [6 + i]) for i in (14, 15)])
    package = ("Package", 0, [cache(3, 24 << 20, fast + slow), slowest])
    package[2].insert(0, node(0, list(range(22))))
    m.save("laptop.xml", ("Machine", 0, [package]), [([20, 21], 0), (range(12, 20), 1), (range(12), 2)])


def odd():
    """3 sockets: little cores without the cache of their neighbours, which come first; a core half offline, one half and two
    wholly disallowed; memory without cores; a socket without memory of its own; nobody may use the last one."""
    m = Machine(offline={5, 20}, disallowed={6, 9, 10, 16, 17})
    little = cache(2, 1 << 20, [m.core(i, [i]) for i in (0, 1)])
    large = [cache(2, 1 << 20, [m.core(i, [2 * i - 2, 2 * i - 1])]) for i in (2, 3, 4)]
    first = ("Package", 0, [little, cache(3, 8 << 20, large)])
    first[2].insert(0, node(0, m.pus(first)))
    second = ("Package", 1, [m.core(i, [i]) for i in (8, 9, 10, 11, 12)])
    third = ("Package", 2, [m.core(16, [16, 20]), m.core(17, [17])])
    third[2].insert(0, node(4, m.pus(third)))
    m.save("odd.xml", ("Machine", 0, [node(2, []), first, second, third]))


server()
laptop()
odd()
