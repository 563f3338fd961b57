import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** An answer of a real engine as it came: each piece with the time after the request at which it arrived. */
export const capture = z.strictObject({
  /** Program and version, as the engine names itself. */
  engine: z.string(),
  recorded: z.iso.date(),
  request: z.record(z.string(), z.unknown()),
  status: z.int(),
  contentType: z.string(),
  pieces: z.array(z.strictObject({ afterMs: z.number(), text: z.string() })),
});
export type Capture = z.output<typeof capture>;

/** Folders of captures, one for each engine and version. */
export const capturesRoot = join(import.meta.dirname, 'engines');

const ending = '.capture.json';

export const captureFile = (folder: string, name: string): string => join(capturesRoot, folder, `${name}${ending}`);

export interface NamedCapture {
  readonly folder: string;
  readonly name: string;
  readonly capture: Capture;
}

/** All captures, of all engines. */
export function readCaptures(): readonly NamedCapture[] {
  return readdirSync(capturesRoot)
    .toSorted()
    .flatMap((folder) =>
      readdirSync(join(capturesRoot, folder))
        .filter((file) => file.endsWith(ending))
        .toSorted()
        .map((file) => {
          const name = file.slice(0, -ending.length);
          const text = readFileSync(captureFile(folder, name), 'utf8');
          return { folder, name, capture: capture.parse(JSON.parse(text)) };
        }),
    );
}

/** Its bytes, one after the other. */
export const bytesOf = ({ pieces }: Capture): Buffer => Buffer.from(pieces.map(({ text }) => text).join(''));

/** What the request asked of the reader. */
export function askOf({ request }: Capture): { readonly choices: number; readonly tools: readonly string[] } {
  const { n, tools } = asked.parse(request);
  return { choices: n, tools: tools.map(({ function: { name } }) => name) };
}

const asked = z.object({
  n: z.int().default(1),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
});
