import { runCommand } from './run-command.ts';

/** 1.37 brought `StreamedImmediateResponse`; 1.37 to 1.39 stall uploads and use freed memory in ext_proc. */
export const oldestEnvoy = { major: 1, minor: 40 } as const;

const patienceMs = 20_000;

/** What a program at a path turned out to be. */
export type EnvoyProbe =
  | { readonly kind: 'usable'; readonly version: string }
  | { readonly kind: 'old'; readonly version: string }
  | { readonly kind: 'broken'; readonly reason: string };

/**
 * Asks a program for its version. The line is `envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL`; a build
 * that prints no number after the commit is taken at its word.
 */
export async function probeEnvoy(path: string): Promise<EnvoyProbe> {
  const { code, output } = await runCommand(path, ['--version'], { timeoutMs: patienceMs });
  if (code !== 0) {
    return { kind: 'broken', reason: output.trim().split('\n').at(-1) || `it ended with code ${String(code)}` };
  }
  if (!/\bversion:/.test(output)) return { kind: 'broken', reason: '`--version` does not answer like Envoy' };
  const match = /version:\s*\S*?\/((\d+)\.(\d+)\.\d+[^/\s]*)/.exec(output);
  if (match === null) return { kind: 'usable', version: 'unknown' };
  const [, version = '', major = '', minor = ''] = match;
  const isOld =
    Number(major) < oldestEnvoy.major || (Number(major) === oldestEnvoy.major && Number(minor) < oldestEnvoy.minor);
  return { kind: isOld ? 'old' : 'usable', version };
}
