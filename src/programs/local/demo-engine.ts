import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMap, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { maxConfigurationBytes, readBoundedFileSync } from '../../process/bounded-file.ts';
import { startChild } from './child.ts';
import type { Launched } from './supervise.ts';

const program = fileURLToPath(new URL('../../../examples/demo-engine/main.ts', import.meta.url));
const examples = fileURLToPath(new URL('../../../examples/manifests', import.meta.url));

const readyMessage = z.object({ kind: z.literal('ready'), url: z.url() });
/** The model names that the example manifests ask the engine for. */
const models = 'demo-chat,demo-mini,demo-embed';

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
      writeFileSync(
        join(folder, name),
        withPort(String(readBoundedFileSync(join(examples, name), maxConfigurationBytes)), port),
      );
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
