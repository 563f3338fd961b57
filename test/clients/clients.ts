import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ScriptStep } from '../../examples/demo-engine/script.ts';
import type { Registry } from './install.ts';

/** Where a run of a client takes place. */
export interface Folders {
  /** Its home: a folder of its own. */
  readonly home: string;
  /** The folder that it is to work in. */
  readonly work: string;
}

/** The same, with what the client is to talk to. */
export interface Seat extends Folders {
  /** Folder with its node_modules, or its virtual environment of Python. */
  readonly installed: string;
  /** Of Weir, without `/v1`. */
  readonly origin: string;
  readonly key: string;
  readonly model: string;
}

export interface Launch {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Packaged {
  /** As the registry has it; also the last part of its model's id. */
  readonly name: string;
  readonly registry: Registry;
  /** What is installed beside it. */
  readonly others?: readonly string[];
}

/** A program that works on files with tools of its own. */
export interface Agent extends Packaged {
  readonly kind: 'agent';
  /** The call by which its model writes a file; the path is absolute. */
  readonly write: (path: string, content: string) => ScriptStep['call'][number];
  /** Writes what it is configured by and says how it is run, without anybody to ask. */
  readonly launch: (seat: Seat, prompt: string) => Launch;
}

/** A library, with which one of programs/ has a conversation. */
export interface Library extends Packaged {
  readonly kind: 'library';
}

export type Client = Agent | Library;

const call = (name: string, given: Readonly<Record<string, string>>): ScriptStep['call'][number] => ({
  ...{ name, arguments: JSON.stringify(given) },
});

function configure(seat: Seat, path: string, text: string): void {
  const file = join(seat.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const nodeProgram = ({ installed }: Seat, path: string): readonly string[] => [
  ...[process.execPath, join(installed, 'node_modules', path)],
];

/** The coding agent that speaks messages. */
export const claudeCode: Agent = {
  kind: 'agent',
  name: '@anthropic-ai/claude-code',
  registry: 'npm',
  write: (path, content) => call('Write', { file_path: path, content }),
  launch: (seat, prompt) => ({
    command: [
      ...nodeProgram(seat, '@anthropic-ai/claude-code/cli-wrapper.cjs'),
      ...['-p', prompt, '--verbose', '--output-format', 'stream-json', '--permission-mode', 'acceptEdits'],
    ],
    env: {
      ANTHROPIC_BASE_URL: seat.origin,
      ANTHROPIC_AUTH_TOKEN: seat.key,
      ANTHROPIC_MODEL: seat.model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: seat.model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // A refusal of Weir's is to be seen, not tried again.
      CLAUDE_CODE_MAX_RETRIES: '0',
    },
  }),
};

export const continueCli: Agent = {
  kind: 'agent',
  name: '@continuedev/cli',
  registry: 'npm',
  write: (path, content) => call('Write', { filepath: path, content }),
  launch: (seat, prompt) => {
    configure(
      seat,
      'weir.yaml',
      `name: Weir
version: 1.0.0
schema: v1
models:
  - name: weir
    provider: openai
    model: ${seat.model}
    apiBase: ${seat.origin}/v1
    apiKey: ${seat.key}
    contextLength: 131072
    roles: [chat]
    capabilities: [tool_use]
`,
    );
    return {
      command: [
        ...nodeProgram(seat, '@continuedev/cli/dist/cn.js'),
        ...['-p', '--auto', '--config', join(seat.home, 'weir.yaml'), prompt],
      ],
      env: { CONTINUE_TELEMETRY_ENABLED: '0' },
    };
  },
};

const pi: Agent = {
  kind: 'agent',
  name: '@mariozechner/pi-coding-agent',
  registry: 'npm',
  write: (path, content) => call('write', { path, content }),
  launch: (seat, prompt) => {
    const model = { id: seat.model, contextWindow: 131_072, maxTokens: 8192 };
    const provider = { baseUrl: `${seat.origin}/v1`, api: 'openai-completions', apiKey: 'WEIR_KEY', models: [model] };
    configure(seat, '.pi/agent/models.json', JSON.stringify({ providers: { weir: provider } }));
    return {
      command: [
        ...nodeProgram(seat, '@mariozechner/pi-coding-agent/dist/cli.js'),
        ...['-p', '--offline', '--provider', 'weir', '--model', seat.model, prompt],
      ],
      env: { WEIR_KEY: seat.key },
    };
  },
};

const library = (registry: Registry, name: string, others: readonly string[] = []): Library => ({
  ...{ kind: 'library', name, registry, others },
});

/** Those that the suite runs, at the versions that node/ and python/ pin. */
export const pinnedAgents: readonly Agent[] = [claudeCode, continueCli, pi];

export const pinnedLibraries: readonly Library[] = [
  library('npm', 'openai'),
  library('npm', '@anthropic-ai/sdk'),
  library('npm', '@openai/agents', ['openai', 'zod']),
  library('pypi', 'openai'),
  library('pypi', 'anthropic'),
  library('pypi', 'langchain-openai'),
  library('pypi', 'langchain-anthropic'),
  library('pypi', 'pydantic-ai-slim', ['pydantic-ai-slim[openai]']),
];
