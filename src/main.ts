import { runCommandLine } from './programs/command-line/command-line.ts';

await runCommandLine(process.argv.slice(2));
