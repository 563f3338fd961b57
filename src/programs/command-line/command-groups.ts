import type { Command } from 'commander';

/**
 * A word of the command line. Only the code of the given word is loaded, because `key list` does not need most of the
 * code of `serve`.
 */
interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly load:
    | {
        readonly kind: 'program';
        readonly run: () => Promise<(argv: readonly string[]) => Promise<number>>;
        readonly flags: () => Promise<readonly string[]>;
      }
    | { readonly kind: 'commands'; readonly register: () => Promise<(program: Command) => void> };
}

export const commandGroups: readonly CommandGroup[] = [
  {
    name: 'start',
    summary: 'start everything on this machine: Envoy, the service and, by default, a demo',
    load: {
      kind: 'program',
      run: async () => (await import('../start/start.ts')).run,
      flags: async () => Object.keys((await import('../start/options.ts')).flags),
    },
  },
  {
    name: 'serve',
    summary: 'run the service alongside an Envoy',
    load: {
      kind: 'program',
      run: async () => (await import('../serve/serve.ts')).run,
      flags: async () => Object.keys((await import('../serve/serve.ts')).flags),
    },
  },
  {
    name: 'portal',
    summary: 'serve the portal and its admin API',
    load: {
      kind: 'program',
      run: async () => (await import('../portal/portal.ts')).run,
      flags: async () => Object.keys((await import('../portal/portal.ts')).flags),
    },
  },
  {
    name: 'picker',
    summary: 'pick the endpoints of an InferencePool for another gateway',
    load: {
      kind: 'program',
      run: async () => (await import('../picker/picker.ts')).run,
      flags: async () => Object.keys((await import('../picker/picker.ts')).flags),
    },
  },
  {
    name: 'workspace',
    summary: 'make workspaces, fill and suspend them',
    load: { kind: 'commands', register: async () => (await import('../commands/workspace.ts')).workspaceCommand },
  },
  {
    name: 'key',
    summary: 'make keys, limit, suspend and revoke them',
    load: { kind: 'commands', register: async () => (await import('../commands/key.ts')).keyCommand },
  },
  {
    name: 'identity',
    summary: 'let callers in by tokens of an issuer, limit and revoke them',
    load: { kind: 'commands', register: async () => (await import('../commands/identity.ts')).identityCommand },
  },
  {
    name: 'user',
    summary: 'invite people who sign in to the portal with a password',
    load: { kind: 'commands', register: async () => (await import('../commands/user.ts')).userCommand },
  },
  {
    name: 'service-account',
    summary: 'make tokens of scripts for the admin API, revoke them',
    load: {
      kind: 'commands',
      register: async () => (await import('../commands/service-account.ts')).serviceAccountCommand,
    },
  },
  {
    name: 'usage',
    summary: 'usage and cost, from the ledger',
    load: { kind: 'commands', register: async () => (await import('../commands/usage.ts')).usageCommand },
  },
  {
    name: 'statement',
    summary: 'the account of a workspace for a month: balances, credits, usage',
    load: { kind: 'commands', register: async () => (await import('../commands/statement.ts')).statementCommand },
  },
  {
    name: 'ledger',
    summary: 'check the books, and the file that they are in',
    load: { kind: 'commands', register: async () => (await import('../commands/ledger.ts')).ledgerCommand },
  },
  {
    name: 'audit',
    summary: 'who changed which account, when, and how',
    load: { kind: 'commands', register: async () => (await import('../commands/audit.ts')).auditCommand },
  },
  {
    name: 'events',
    summary: 'send events to their receiver again',
    load: { kind: 'commands', register: async () => (await import('../commands/events.ts')).eventsCommand },
  },
  {
    name: 'explain',
    summary: 'show the story of one request: plan, attempts, faults, times, bill',
    load: { kind: 'commands', register: async () => (await import('../commands/explain.ts')).explainCommand },
  },
  {
    name: 'problems',
    summary: 'what is wrong now, since when, and what to do',
    load: { kind: 'commands', register: async () => (await import('../commands/problems.ts')).problemsCommand },
  },
  {
    name: 'doctor',
    summary: 'ask engines whether they are what the manifests say',
    load: { kind: 'commands', register: async () => (await import('../commands/doctor.ts')).doctorCommand },
  },
  {
    name: 'top',
    summary: 'the last minute’s callers, by requests',
    load: { kind: 'commands', register: async () => (await import('../commands/top.ts')).topCommand },
  },
  {
    name: 'log-level',
    summary: 'show or change what running programs log',
    load: { kind: 'commands', register: async () => (await import('../commands/log-level.ts')).logLevelCommand },
  },
  {
    name: 'backup',
    summary: 'copy the accounts and the ledger into a file',
    load: { kind: 'commands', register: async () => (await import('../commands/ledger.ts')).backupCommand },
  },
  {
    name: 'catalog',
    summary: 'check a folder of manifests, or make one from a LiteLLM configuration',
    load: { kind: 'commands', register: async () => (await import('../commands/catalog.ts')).catalogCommand },
  },
  {
    name: 'model',
    summary: 'manage the vectors of embedding models',
    load: { kind: 'commands', register: async () => (await import('../commands/model.ts')).modelCommand },
  },
  {
    name: 'engine',
    summary: 'find out what an engine can do',
    load: { kind: 'commands', register: async () => (await import('../commands/engine.ts')).engineCommand },
  },
  {
    name: 'plan',
    summary: 'what a load takes: pods, cores, memory, connections',
    load: { kind: 'commands', register: async () => (await import('../commands/plan.ts')).planCommand },
  },
  {
    name: 'completion',
    summary: 'print a shell completion script for commands and flags',
    load: { kind: 'commands', register: async () => (await import('../commands/completion.ts')).completionCommand },
  },
  {
    name: 'envoy',
    summary: 'start and stop the Envoy alongside `serve`',
    load: { kind: 'commands', register: async () => (await import('../commands/envoy.ts')).envoyCommand },
  },
];
