import { Command, CommanderError } from 'commander';
import { messageOf } from './core/failure.ts';

import manifest from '../package.json' with { type: 'json' };

/** A word of the command line. Only the one that was asked for is loaded: most of what `serve` needs, `key list` does not. */
interface Group {
  readonly name: string;
  readonly summary: string;
  readonly load:
    | { readonly kind: 'program'; readonly run: () => Promise<(argv: readonly string[]) => Promise<number>> }
    | { readonly kind: 'commands'; readonly register: () => Promise<(program: Command) => void> };
}

const groups: readonly Group[] = [
  {
    name: 'start',
    summary: 'bring up everything here: Envoy, the service and, unless told otherwise, a demo',
    load: { kind: 'program', run: async () => (await import('./cli/start/start.ts')).run },
  },
  {
    name: 'serve',
    summary: 'run the service beside an Envoy',
    load: { kind: 'program', run: async () => (await import('./cli/serve/serve.ts')).run },
  },
  {
    name: 'portal',
    summary: 'serve the portal and its admin API',
    load: { kind: 'program', run: async () => (await import('./cli/portal/portal.ts')).run },
  },
  {
    name: 'workspace',
    summary: 'make workspaces, fill and suspend them',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/workspace.ts')).workspaceCommand },
  },
  {
    name: 'key',
    summary: 'make keys, limit, suspend and revoke them',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/key.ts')).keyCommand },
  },
  {
    name: 'usage',
    summary: 'what was used and what it cost, from the ledger',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/usage.ts')).usageCommand },
  },
  {
    name: 'ledger',
    summary: 'check the books, and the file that they are in',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/ledger.ts')).ledgerCommand },
  },
  {
    name: 'audit',
    summary: 'who changed which account, when, and how',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/audit.ts')).auditCommand },
  },
  {
    name: 'explain',
    summary: 'tell the story of one request: plan, attempts, faults, times, bill',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/explain.ts')).explainCommand },
  },
  {
    name: 'problems',
    summary: 'what is wrong now, since when, and what to do',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/problems.ts')).problemsCommand },
  },
  {
    name: 'log-level',
    summary: 'tell or change what running programs log',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/log-level.ts')).logLevelCommand },
  },
  {
    name: 'backup',
    summary: 'copy the accounts and the ledger into a file',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/ledger.ts')).backupCommand },
  },
  {
    name: 'catalog',
    summary: 'check a folder of manifests',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/catalog.ts')).catalogCommand },
  },
  {
    name: 'envoy',
    summary: 'what the Envoy beside `serve` needs at its start and at its end',
    load: { kind: 'commands', register: async () => (await import('./cli/commands/envoy.ts')).envoyCommand },
  },
];

/** Runs one command line. The exit code is 0, 1 when it could not be done, 2 when it was not understood. */
async function main(argv: readonly string[]): Promise<void> {
  const chosen = groups.find((group) => group.name === argv[0]);
  try {
    if (chosen?.load.kind === 'program') {
      const run = await chosen.load.run();
      process.exitCode = await run(argv.slice(1));
      return;
    }
    // A reader that has seen enough, such as `head`, is no fault of the command.
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
    const program = new Command('weir')
      .description(manifest.description)
      .version(manifest.version)
      .exitOverride()
      // Told once, below, in the form that was asked for.
      .configureOutput({ outputError: () => {} });
    for (const group of groups) {
      if (group !== chosen) program.command(group.name).description(group.summary);
      else if (group.load.kind === 'commands') (await group.load.register())(program);
    }
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    process.exitCode = error instanceof CommanderError ? 2 : 1;
    // With this code commander has shown the help of a group that was named without a command.
    if (error instanceof CommanderError && error.code === 'commander.help') return;
    process.stderr.write(complaint(error, argv.includes('--json') ? 'json' : 'text'));
  }
}

function complaint(error: unknown, form: 'json' | 'text'): string {
  const message = messageOf(error);
  const sentence = message.replace(/^error: /, '').replaceAll('\n', ' ');
  return form === 'json' ? `${JSON.stringify({ error: sentence })}\n` : `weir: ${sentence}\n`;
}

await main(process.argv.slice(2));
