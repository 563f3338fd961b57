import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** A fenced block of README.md. */
export interface ReadmeBlock {
  /** The heading above it. */
  readonly section: string;
  readonly text: string;
}

/** The test that runs a block of README.md. Every block has one row, and test/lint/readme.test.ts compares the two. */
interface BlockRow extends Pick<ReadmeBlock, 'section'> {
  readonly beginsWith: string;
  readonly runBy: string;
}

const started = 'test/envoy/readme.test.ts';

export const readmeRows = {
  start: { section: 'Try it', beginsWith: 'npm start', runBy: started },
  printed: { section: 'Try it', beginsWith: 'base URL:', runBy: started },
  request: { section: 'Try it', beginsWith: 'curl ', runBy: started },
  upstream: { section: 'With your own engine', beginsWith: 'npm start -- --upstream ', runBy: started },
  kubernetes: { section: 'Kubernetes', beginsWith: 'IMAGE=', runBy: 'test/kube/readme-kubernetes.test.ts' },
} as const satisfies Readonly<Record<string, BlockRow>>;

export const readmeText = (): string => readFileSync(join(root, 'README.md'), 'utf8');

/** The blocks of a page, in order. Throws if a block has no end. */
function blocksOf(page: string): readonly ReadmeBlock[] {
  const blocks: ReadmeBlock[] = [];
  let section = '';
  for (const [, heading, body] of page.matchAll(/^#+ (.+)$|^```.*\n([^]*?)^```$/gm)) {
    if (heading === undefined) blocks.push({ section, text: body ?? '' });
    else section = heading;
  }
  if ((page.match(/^ *```/gm)?.length ?? 0) !== 2 * blocks.length) throw new Error('a block has no end');
  return blocks;
}

const isOf = ({ section, text }: ReadmeBlock, row: BlockRow): boolean =>
  section === row.section && text.startsWith(row.beginsWith);

/** What no test runs, and what is no longer there; a sentence each. */
export function blockProblems(page: string, rows: Readonly<Record<string, BlockRow>>): readonly string[] {
  const blocks = blocksOf(page);
  return [
    ...blocks
      .filter((block) => !Object.values(rows).some((row) => isOf(block, row)))
      .map(({ section, text }) => `no test runs the block of "${section}" that begins with ${text.split('\n', 1)[0]}`),
    ...Object.entries(rows).flatMap(([name, row]) => {
      const count = blocks.filter((block) => isOf(block, row)).length;
      return count === 1 ? [] : [`${name}: expected one block, found ${count}`];
    }),
  ];
}

/** The text of a block of README.md. */
export function readmeBlock(name: keyof typeof readmeRows): string {
  const row = readmeRows[name];
  const block = blocksOf(readmeText()).find((one) => isOf(one, row));
  if (block === undefined) throw new Error(`README.md has no block "${name}"`);
  return block.text;
}
