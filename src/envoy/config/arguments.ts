/** Envoy's command line for a rendered bootstrap. */
export function envoyArguments(options: {
  readonly bootstrapFile: string;
  readonly concurrency?: number;
}): readonly string[] {
  return [
    '--config-path',
    options.bootstrapFile,
    // Two gateways on one machine must not meet in shared memory.
    '--disable-hot-restart',
    '--log-level',
    'warn',
    // Connections are told to close with their next answer, not over ten minutes.
    '--drain-strategy',
    'immediate',
    ...(options.concurrency === undefined ? [] : ['--concurrency', String(options.concurrency)]),
  ];
}
