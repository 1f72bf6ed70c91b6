package net.adocd.agent.http;

/** One HTTP request. */
record Request(String method, String target, byte[] body, boolean keepAlive) { }
