"""Attaches an agent to a program that is already running.

| module | what it does |
|---|---|
| `program` | reads a running program from outside, and says why it cannot be attached to |
| `layout` | learns how this librocksdb lays out an open database in memory, by opening one |
| `proof` | proves from outside that an address is an open database, before anything is called on it |
| `inject` | injects a library by frida, in a process that ends when the program is let go |
| `injector` | loads the agent through it, and calls its entry, in a thread of its own |
| `attachment` | attach and detach, in their order |
| `jvm` | attaches the Java agent to a JVM, over the JVM's own protocol for that |

A program's own LOG names its databases (`DB pointer 0x...`, written at the end of a successful open), so its memory
need not be searched; each address is proven all the same.
"""
