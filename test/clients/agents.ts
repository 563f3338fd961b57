import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { ScriptStep } from '../programmable-engine/script.ts';
import type { Agent, Seat } from './clients.ts';

// How each agent is told where Weir is. docs/how-to/clients.md says the same in words.

type Written = Readonly<Record<'path' | 'content', string>>;

/** The script of a model that writes the file with one call of a tool. */
const byTool =
  (name: string, given: (file: Written) => Readonly<Record<string, string>>): Agent['script'] =>
  (errand) => [
    { say: 'I write it down.', call: [{ name, arguments: JSON.stringify(given(errand)) }] },
    { say: errand.end, call: [] },
  ];

function configure(seat: Seat, path: string, text: string): void {
  const file = join(seat.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const nodeProgram = ({ installed }: Seat, path: string): readonly string[] => [
  ...[process.execPath, join(installed, 'node_modules', path)],
];

/** A program that comes as a package for each kind of machine. */
const platformProgram = ({ installed }: Seat, packages: string, program: string): string =>
  join(installed, 'node_modules', `${packages}-${process.platform}-${process.arch}`, 'bin', program);

const pythonModule = ({ installed }: Seat, module: string): readonly string[] => [
  ...[join(installed, 'bin', 'python'), '-m', module],
];

/** The coding agent that speaks messages. */
export const claudeCode: Agent = {
  kind: 'agent',
  name: '@anthropic-ai/claude-code',
  registry: 'npm',
  script: byTool('Write', ({ path, content }) => ({ file_path: path, content })),
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

/** The coding agent that speaks responses. */
export const codex: Agent = {
  kind: 'agent',
  name: '@openai/codex',
  registry: 'npm',
  script: byTool('exec_command', ({ path, content }) => ({ cmd: `printf %s '${content}' > '${path}'` })),
  launch: (seat, prompt) => {
    configure(
      seat,
      '.codex/config.toml',
      `model = "${seat.model}"
model_provider = "weir"
model_context_window = 131072
web_search = "disabled"

[model_providers.weir]
name = "Weir"
base_url = "${seat.origin}/v1"
env_key = "WEIR_KEY"
wire_api = "responses"
`,
    );
    return {
      command: [
        ...nodeProgram(seat, '@openai/codex/bin/codex.js'),
        // The sandbox needs rights of the kernel that a container may lack.
        ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
      ],
      env: { WEIR_KEY: seat.key },
    };
  },
};

export const continueCli: Agent = {
  kind: 'agent',
  name: '@continuedev/cli',
  registry: 'npm',
  script: byTool('Write', ({ path, content }) => ({ filepath: path, content })),
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
  script: byTool('write', ({ path, content }) => ({ path, content })),
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

const opencode: Agent = {
  kind: 'agent',
  name: 'opencode-ai',
  registry: 'npm',
  script: byTool('write', ({ path, content }) => ({ filePath: path, content })),
  launch: (seat, prompt) => {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      name: 'Weir',
      options: { baseURL: `${seat.origin}/v1`, apiKey: '{env:WEIR_KEY}' },
      models: { [seat.model]: { name: seat.model, limit: { context: 131_072, output: 8192 } } },
    };
    const model = `weir/${seat.model}`;
    const settings = { model, small_model: model, autoupdate: false, share: 'disabled', provider: { weir: provider } };
    configure(seat, '.config/opencode/opencode.json', JSON.stringify(settings));
    return {
      command: [...[platformProgram(seat, 'opencode', 'opencode'), 'run', prompt]],
      env: { WEIR_KEY: seat.key, OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' },
    };
  },
};

const qwenCode: Agent = {
  kind: 'agent',
  name: '@qwen-code/qwen-code',
  registry: 'npm',
  script: byTool('write_file', ({ path, content }) => ({ file_path: path, content })),
  launch: (seat, prompt) => ({
    command: [...[process.execPath, join(seat.installed, 'node_modules', '.bin', 'qwen')], '--yolo', prompt],
    env: { OPENAI_BASE_URL: `${seat.origin}/v1`, OPENAI_API_KEY: seat.key, OPENAI_MODEL: seat.model },
  }),
};

const cline: Agent = {
  kind: 'agent',
  name: 'cline',
  registry: 'npm',
  script: byTool('editor', ({ path, content }) => ({ path, new_text: content })),
  launch: (seat, prompt) => {
    const provider = 'openai-compatible';
    const settings = { provider, apiKey: seat.key, model: seat.model, baseUrl: `${seat.origin}/v1` };
    const updatedAt = '2026-01-01T00:00:00.000Z';
    const providers = { [provider]: { settings, updatedAt, tokenSource: 'manual' } };
    const file = JSON.stringify({ version: 1, lastUsedProvider: provider, modes: {}, providers });
    configure(seat, '.cline/data/settings/providers.json', file);
    return {
      command: [platformProgram(seat, '@cline/cli', 'cline'), '--json', '-P', provider, '-m', seat.model, prompt],
      env: {},
    };
  },
};

/** It takes whole files from what its model says, and needs no tools. */
const aider: Agent = {
  kind: 'agent',
  name: 'aider-chat',
  registry: 'pypi',
  script: ({ path, content, end }) => [{ say: `${basename(path)}\n\`\`\`\n${content}\n\`\`\`\n\n${end}`, call: [] }],
  launch: (seat, prompt) => ({
    command: [
      ...pythonModule(seat, 'aider'),
      ...['--model', `openai/${seat.model}`, '--edit-format', 'whole', '--yes-always', '--no-git'],
      ...['--no-check-update', '--no-show-release-notes', '--no-show-model-warnings', '--analytics-disable'],
      ...['--no-detect-urls', '--message', prompt],
    ],
    env: { OPENAI_API_BASE: `${seat.origin}/v1`, OPENAI_API_KEY: seat.key },
  }),
};

const miniSweAgent: Agent = {
  kind: 'agent',
  name: 'mini-swe-agent',
  registry: 'pypi',
  others: ['mcp'],
  script: ({ path, content, end }) => {
    const bash = (command: string): ScriptStep['call'] => [{ name: 'bash', arguments: JSON.stringify({ command }) }];
    return [
      { say: 'I write it down.', call: bash(`printf '${content}' > ${path}`) },
      { say: end, call: bash('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT') },
    ];
  },
  launch: (seat, prompt) => ({
    command: [
      ...pythonModule(seat, 'minisweagent.run.mini'),
      ...['--model', `openai/${seat.model}`, '--task', prompt, '--yolo', '--exit-immediately'],
    ],
    env: {
      ...{ OPENAI_API_BASE: `${seat.origin}/v1`, OPENAI_API_KEY: seat.key },
      ...{ MSWEA_CONFIGURED: 'true', MSWEA_COST_TRACKING: 'ignore_errors', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    },
  }),
};

const llm: Agent = {
  kind: 'agent',
  name: 'llm',
  registry: 'pypi',
  script: byTool('write', ({ path, content }) => ({ path, content })),
  launch: (seat, prompt) => {
    const model = { model_id: 'weir', model_name: seat.model, api_base: `${seat.origin}/v1`, api_key_name: 'weir' };
    // YAML takes JSON.
    configure(seat, 'extra-openai-models.yaml', JSON.stringify([{ ...model, supports_tools: true }]));
    const write =
      'def write(path: str, content: str) -> str:\n  "Writes a file."\n  open(path, "w").write(content)\n  return "ok"';
    return {
      command: [...pythonModule(seat, 'llm'), '-m', 'weir', '--key', seat.key, '--functions', write, prompt],
      env: { LLM_USER_PATH: seat.home },
    };
  },
};

/** Agents of the suite, at the versions that node/ pins. */
export const pinnedAgents: readonly Agent[] = [claudeCode, codex, continueCli, pi];

/** Agents that are tried at their newest version only. */
export const furtherAgents: readonly Agent[] = [opencode, qwenCode, cline, aider, miniSweAgent, llm];
