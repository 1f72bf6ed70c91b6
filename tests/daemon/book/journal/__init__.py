"""The journal: real files, killed writers, full disks and damage."""
