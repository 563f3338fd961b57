import { createLog, type ProgramLog } from '../../src/programs/command-line/program-log.ts';

/** The log of a program, as JSON, kept for the test. */
export function notedProgramLog(): { readonly programLog: Omit<ProgramLog, 'output'>; readonly text: () => string } {
  let text = '';
  const write = (record: string): void => {
    text += record;
  };
  const programLog = createLog('info', { output: { write }, onLevel: () => undefined });
  return { programLog, text: () => text };
}
