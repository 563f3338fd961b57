/** What the service's Node is started with; the chart says the same. Measured in docs/decisions/0022. */
export const nodeFlags = [
  // The young generation begins at 1 MiB and grows to 16 with use; the growing is paid for in collections, a tenth of the
  // service's time in its first minute under load. This begins where it would end.
  '--min-semi-space-size=16',
  // After some hundred long streams V8 would make more and more of each request in the old generation.
  '--no-allocation-site-pretenuring',
] as const;
