import { readdirSync } from 'node:fs';

/** A folder of golden files: what goes in lies beside what comes out. */
export interface GoldenFolder {
  /** Names of the cases that have this input, without its ending: `.sse`, `.json`. */
  readonly cases: (ending: string) => readonly string[];
  readonly path: (file: string) => string;
  /** Files that are no case's input and that no case produced: goldens of cases that are gone. */
  readonly orphans: (produced: ReadonlySet<string>) => readonly string[];
}

/** Reads a folder beside this file. An input is a name with one ending only; whatever has more was produced, or says how a case is run. */
export function openGoldenFolder(name: string): GoldenFolder {
  const folder = new URL(`./${name}/`, import.meta.url);
  const files = readdirSync(folder).sort();
  const isInput = (file: string, ending: string): boolean => file.endsWith(ending) && !/\.(?:[a-z]+)\.[a-z]+$/.test(file);
  return {
    path: (file) => new URL(file, folder).pathname,
    cases: (ending) => files.filter((file) => isInput(file, ending)).map((file) => file.slice(0, -ending.length)),
    orphans: (produced) => files.filter((file) => !isInput(file, '.sse') && !isInput(file, '.json') && !produced.has(file)),
  };
}
