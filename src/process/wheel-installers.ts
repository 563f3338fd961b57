import { join } from 'node:path';
import { runCommand } from './run-command.ts';

/** One way to put the packages of a requirements file into a folder. */
export interface WheelInstaller {
  /** What the user would type. */
  readonly name: string;
  /** Resolves to undefined when it worked, else to the reason it did not. */
  readonly install: (requirements: string, target: string) => Promise<string | undefined>;
}

/** The settings of a user's pip that would turn a plain `install --target` into something else. */
const neutral = {
  PIP_USER: '0',
  PIP_REQUIRE_VIRTUALENV: '0',
  PIP_PREFIX: undefined,
  PIP_ROOT: undefined,
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
};

const patienceMs = 600_000;

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** In the order of trust: the interpreter's own pip, pips on PATH, uv, and last a pip made for the occasion. */
export function wheelInstallers(around: Surroundings & { readonly temporary: string }): readonly WheelInstaller[] {
  return [
    pip('python3 -m pip', ['python3', '-m', 'pip'], around),
    pip('pip3', ['pip3'], around),
    pip('pip', ['pip'], around),
    { name: 'uv', install: (requirements, target) => run(['uv', 'pip', ...order(requirements, target)], around) },
    freshPip(join(around.temporary, 'python'), around),
  ];
}

function pip(name: string, command: readonly string[], around: Surroundings): WheelInstaller {
  return {
    name,
    install: (requirements, target) => run([...command, ...order(requirements, target), '--no-input'], around),
  };
}

/** Debian's python3 comes without pip, but where `venv` is there it can make one. */
function freshPip(folder: string, around: Surroundings): WheelInstaller {
  return {
    name: 'python3 -m venv',
    install: async (requirements, target) => {
      const trouble = await run(['python3', '-m', 'venv', folder], around);
      return trouble ?? pip('pip', [join(folder, 'bin', 'pip')], around).install(requirements, target);
    },
  };
}

function order(requirements: string, target: string): readonly string[] {
  return ['install', '--target', target, '--no-deps', '--require-hashes', '--only-binary', ':all:', '-r', requirements];
}

async function run(
  [command = '', ...args]: readonly string[],
  { env, signal }: Surroundings,
): Promise<string | undefined> {
  const { code, output } = await runCommand(command, args, {
    env: { ...env, ...neutral },
    timeoutMs: patienceMs,
    ...(signal === undefined ? {} : { signal }),
  });
  return code === 0 ? undefined : reasonIn(output);
}

/** The last line that says what went wrong: pip's own `ERROR:` when there is one. */
function reasonIn(output: string): string {
  const lines = output.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => /^error\b/i.test(line)) ?? lines.findLast((line) => line !== '');
  return (last ?? 'it said nothing').replace(/^error:\s*/i, '').slice(0, 300);
}
