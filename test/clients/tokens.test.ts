// @suite long
/** Clients with tokens in place of keys, as docs/how-to/identities.md shows them: each reads a file, or runs a command, for its token. */
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { forFile } from '../support/for-file.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startTokenIssuer } from '../support/token-issuer.ts';
import { untilHolds } from '../support/until-holds.ts';
import { backendManifest, modelManifest, startWeir, teamManifest } from '../support/weir.ts';
import { claudeCode, codex } from './agents.ts';
import type { Launch, Seat } from './clients.ts';
import { installPinned } from './install.ts';
import { makeFolders, removeFolders, runClient, seatAt } from './stage.ts';

afterAll(() => removeFolders());
const authority = join(tmpdir(), `weir-client-tokens-${process.pid}.pem`);
writeFileSync(authority, selfSigned.certificate);

const installed = await installPinned();
const engine = await forFile(startProgrammableEngine({ behaviour: { words: 5 } }));
const issuer = await forFile(startTokenIssuer());

const identities = [
  ['pods', 'claims.sub.startsWith("system:serviceaccount:search:")', '{app: claims.sub}'],
  ['actions', 'claims.repository == "acme/app" && claims.ref == "refs/heads/main"', '{app: claims.workflow}'],
  [
    'google',
    'claims.email == "indexer@project.iam.gserviceaccount.com" && claims.email_verified',
    '{app: claims.email}',
  ],
].map(
  ([name, match, tags]) => `---
apiVersion: weir.dev/v1alpha1
kind: Identity
metadata: {name: ${name}}
spec: {issuer: '${issuer.issuer}', audience: weir, match: ['${match}'], workspace: search-team, tags: ${tags}}
`,
);
const manifests = {
  'catalog.yaml': backendManifest('engine', engine) + modelManifest('test/model', ['engine']),
  'team.yaml': teamManifest,
  'identities.yaml': identities.join(''),
};
const weir = await forFile(
  startWeir({
    ...{ engines: [engine], manifests, unlimited: true },
    env: { WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority, WEIR_RESPONSES: 'stateless' },
  }),
);

/** Claims as issuers write them, in the shapes that their documentation has. */
const claims = {
  pods: { sub: 'system:serviceaccount:search:indexer' },
  actions: {
    ...{ sub: 'repo:acme/app:ref:refs/heads/main', repository: 'acme/app', repository_owner: 'acme' },
    ...{ ref: 'refs/heads/main', ref_type: 'branch', workflow: 'evaluate', event_name: 'push', run_attempt: '1' },
    job_workflow_ref: 'acme/app/.github/workflows/evaluate.yml@refs/heads/main',
  },
  google: {
    ...{ sub: '112010400000000710080', azp: '112010400000000710080', email_verified: true },
    email: 'indexer@project.iam.gserviceaccount.com',
  },
} as const;

const statusOf = async (token: string): Promise<number> => {
  const messages = [{ role: 'user', content: 'Hello!' }];
  const answer = await weir.chat({ model: 'test/model', messages }, { authorization: `Bearer ${token}` });
  await answer.text();
  return answer.status;
};
const until = (token: string, status: number): Promise<void> =>
  untilHolds(async () => expect(await statusOf(token)).toBe(status));
await until(await issuer.token(claims.pods), 200);
beforeEach(() => engine.reset());

function newSeat(registry: 'npm' | 'pypi'): Seat & { readonly file: string } {
  // The key of the seat is a text that lets nobody in: what is served came with a token.
  const seat = seatAt(weir, { place: makeFolders(), model: 'test/model', installed: installed[registry] });
  return { ...seat, key: 'none', file: join(seat.home, 'token') };
}

test.each([
  ['actions', { ref: 'refs/heads/main' }, 200],
  ['actions', { ref: 'refs/pull/1/merge' }, 401],
  ['actions', { repository: 'acme/fork' }, 401],
  ['google', {}, 200],
  ['google', { email_verified: false }, 401],
] as const)('a token in the shape of %s with %j gets %s', async (name, over, status) => {
  expect(await statusOf(await issuer.token({ ...claims[name], ...over }))).toBe(status);
});

test.each([
  ['npm', 'tokens.mjs'],
  ['pypi', 'tokens.py'],
] as const)('the OpenAI library of %s reads its token for each request', async (registry, program) => {
  const seat = newSeat(registry);
  cpSync(join(import.meta.dirname, 'programs', program), join(seat.work, program));
  if (registry === 'npm') symlinkSync(join(seat.installed, 'node_modules'), join(seat.work, 'node_modules'));
  writeFileSync(seat.file, `${await issuer.token(claims.pods)}\n`);
  const runner = registry === 'npm' ? process.execPath : join(seat.installed, 'bin', 'python');
  const next = await issuer.token({ ...claims.pods, sub: 'system:serviceaccount:search:next' });
  const { origin, model, file } = seat;
  const env = { WEIR_ORIGIN: origin, WEIR_MODEL: model, WEIR_TOKEN_FILE: file, WEIR_NEXT_TOKEN: next };
  const { code, stdout, stderr } = await runClient(weir, { command: [runner, program], env }, seat);
  expect(code, stdout + stderr).toBe(0);
  const text = expect.stringMatching(/\S/) as string;
  expect(JSON.parse(stdout)).toEqual({ before: text, after: text });
  await weir.settled();
  const tags = (await weir.ledger()).map((row) => String(row['tags']));
  expect(tags.some((one) => one.includes('system:serviceaccount:search:next'))).toBe(true);
});

const helper = ({ file }: { readonly file: string }): string => `cat ${file}`;

const agents: readonly (readonly [string, (seat: Seat & { readonly file: string }) => Launch])[] = [
  [
    'Claude Code, by apiKeyHelper,',
    (seat) => {
      const { command, env } = claudeCode.launch(seat, 'When does the tide turn?');
      mkdirSync(join(seat.home, '.claude'));
      writeFileSync(join(seat.home, '.claude', 'settings.json'), JSON.stringify({ apiKeyHelper: helper(seat) }));
      const { ANTHROPIC_AUTH_TOKEN: _, ...others } = env;
      return { command, env: others };
    },
  ],
  [
    'Codex, by auth.command,',
    (seat) => {
      const { command } = codex.launch(seat, 'When does the tide turn?');
      const settings = `model = "${seat.model}"
model_provider = "weir"
web_search = "disabled"

[model_providers.weir]
name = "Weir"
base_url = "${seat.origin}/v1"
wire_api = "responses"

[model_providers.weir.auth]
command = "cat"
args = ["${seat.file}"]
`;
      writeFileSync(join(seat.home, '.codex', 'config.toml'), settings);
      return { command, env: {} };
    },
  ],
];
test.each(agents)('%s calls a model with a token', async (_, launch) => {
  engine.set({ script: [{ say: 'It turns at 17:42.', call: [] }] });
  const seat = newSeat('npm');
  writeFileSync(seat.file, await issuer.token(claims.pods));
  const { code, stdout, stderr } = await runClient(weir, launch(seat), seat);
  expect(code, stdout + stderr).toBe(0);
  expect(stdout).toContain('It turns at 17:42.');
});
