import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = join(import.meta.dirname, '..', '..', '..', 'docs', 'operate', 'incidents.md');

/** The commands of a section of docs/operate/incidents.md, in their order, without comments. */
export function pageCommands(heading: string): readonly string[] {
  const [, section = ''] = readFileSync(page, 'utf8').split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) =>
    block.split('\n').flatMap((line) => {
      const command = line.replace(/\s+#.*$/, '').trim();
      return command === '' ? [] : [command];
    }),
  );
}
