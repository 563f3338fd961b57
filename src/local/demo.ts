import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMap, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { startChild } from './child.ts';
import type { Launched } from './supervise.ts';
import type { DatabaseLocation } from '../store/databases/database.ts';
import { openDatabase } from '../store/databases/open-database.ts';
import { findCredentials } from '../store/accounts/find-credentials.ts';
import { createKey } from '../store/accounts/keys.ts';
import { hashKey } from '../store/accounts/key-text.ts';
import { creditWorkspace } from '../store/accounts/credits.ts';
import { createWorkspace, listWorkspaces } from '../store/accounts/workspaces.ts';
import type { Authorship } from '../core/administration.ts';
import { type Money, parseUsd } from '../core/money.ts';

const program = fileURLToPath(new URL('../../examples/demo-engine/main.ts', import.meta.url));
const examples = fileURLToPath(new URL('../../examples/manifests', import.meta.url));

const readyMessage = z.object({ kind: z.literal('ready'), url: z.url() });
/** The model names that the example manifests ask the engine for. */
const models = 'demo-chat,demo-mini';

/** Starts the demo engine; port 0 takes a free one. `isUp` resolves, after `onPort`, when it listens. */
export function launchDemoEngine(options: {
  readonly port: number;
  readonly logPath: string;
  readonly onPort: (port: number) => void;
}): Launched {
  const { promise: isUp, resolve } = Promise.withResolvers<void>();
  const child = startChild({
    command: process.execPath,
    args: [program, `--port=${options.port}`, `--models=${models}`],
    logPath: options.logPath,
    onMessage: (raw) => {
      const message = readyMessage.safeParse(raw).data;
      if (message === undefined) return;
      options.onPort(Number(new URL(message.url).port));
      resolve();
    },
  });
  return { child, isUp };
}

/** Copies the example manifests into a folder that the operator may edit, with the demo engine's actual port. */
export function copyDemoManifests(folder: string, port: number): void {
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name.endsWith('.yaml')) rmSync(join(folder, name));
  for (const name of readdirSync(examples)) {
    if (name.endsWith('.yaml'))
      writeFileSync(join(folder, name), withPort(readFileSync(join(examples, name), 'utf8'), port));
  }
}

/** Sets `spec.endpoint.port` of every Backend, and leaves the comments as they are. */
function withPort(text: string, port: number): string {
  const documents = [...parseAllDocuments(text)];
  for (const document of documents) {
    if (isMap(document.contents) && document.get('kind') === 'Backend')
      document.setIn(['spec', 'endpoint', 'port'], port);
  }
  return documents.map(String).join('');
}

const workspaceName = 'demo';
const creditUsd = '10';
/** docs/reference/api.md §8. */
const limits = { rate: 100, burst: 200, maxInFlight: 256 } as const;

/**
 * Makes sure that there is a workspace for the demo, and resolves to the text of a valid key of it. The text is stored
 * in `<data>/demo-key`, readable only by its owner, so that the next start prints the same key.
 */
export async function prepareDemoAccount(options: {
  readonly data: string;
  readonly database: DatabaseLocation;
  readonly by: Authorship;
  readonly report: (line: string) => void;
}): Promise<string> {
  const { data, by, report } = options;
  const keyFile = join(data, 'demo-key');
  const credit = parseUsd(creditUsd) ?? 0n;
  const database = await openDatabase(options.database, { missing: 'create', user: 'operator' });
  try {
    const { queries } = database;
    const found = (await listWorkspaces(queries)).find(({ name }) => name === workspaceName);
    const { maxInFlight } = limits;
    const workspace = found ?? (await createWorkspace(queries, { name: workspaceName, credit, maxInFlight }, by));
    if (isSpent(workspace.balance)) {
      // The curl that is printed has to work every time.
      const amount = credit - workspace.balance;
      await creditWorkspace(queries, workspaceName, { amount, note: 'demo' }, by);
      report(`The workspace "${workspaceName}" had nothing left; it has $${creditUsd} again.`);
    }
    if (workspace.status === 'suspended')
      report(`The workspace "${workspaceName}" is suspended: \`weir workspace resume demo\`.`);

    const kept = readKept(keyFile);
    const hash = hashKey(kept ?? '');
    const credential = (await findCredentials(queries, [hash], by.now)).get(hash);
    const { key, workspace: owner } = credential ?? {};
    const isGood = key?.status === 'active' && (key.expiresAt ?? Infinity) > by.now && key.models === undefined;
    if (kept !== undefined && isGood && owner?.name === workspaceName) return kept;
    const { rate, burst } = limits;
    const { text } = await createKey(queries, { workspace: workspaceName, rate, burst }, by);
    writeFileSync(keyFile, `${text}\n`, { mode: 0o600 });
    return text;
  } finally {
    await database.close();
  }
}

function isSpent(balance: Money): boolean {
  return balance <= 0n;
}

function readKept(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
