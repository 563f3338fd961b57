/**
 * V8's flags for a service, set when it has started. On the command line they would change the key of V8's code caches, and Node would
 * compile its own modules at each start, for 40 ms. The measurements are in docs/decisions/0022.
 */
export const flagsOfService = [
  // After some hundred long streams, V8 would put more and more objects of each request into the old generation.
  '--no-allocation-site-pretenuring',
  // By default V8 compiles a function with its best compiler after 3,000 calls. The code before that puts some functions into the old
  // generation, where they keep alive what else a request made.
  '--invocation-count-for-turbofan=1000',
] as const;
