import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeDataFolder } from '../../process/data-folder.ts';
import { type Lock, tryLock } from '../../process/lock.ts';
import { endLeftOvers, keepProcessRecord, makeRunFolder, notedPid, removeSockets } from './run-folder.ts';
import { messageOf } from '../../core/failure.ts';
import { refusal } from '../../books/core/operator-refusals.ts';

/** The folders of one running gateway, held by this process alone. */
export type OwnFolders = Awaited<ReturnType<typeof takeFolders>>;

const supervisor = 'weir start';
const leftOverGraceMs = 5_000;

/**
 * Takes the data folder for this process and prepares it: ends the processes that a killed start left, and removes its
 * sockets. Throws a Refusal if another start has the folder, or if it cannot be made.
 */
export async function takeFolders(data: string, report: (line: string) => void) {
  const { lock, run, logs } = make(data);
  if (lock === undefined) {
    const pid = notedPid(run, supervisor);
    throw refusal('folder_in_use', { folder: data, pid: pid === undefined ? '' : ` (pid ${pid})` });
  }
  await endLeftOvers(run, { graceMs: leftOverGraceMs, report });
  removeSockets(run);
  const record = keepProcessRecord(run, report);
  record.note(supervisor, process.pid);
  return {
    run,
    logs,
    record,
    release: (): void => {
      removeSockets(run);
      record.remove();
      lock.release();
    },
  };
}

function make(data: string): { readonly lock: Lock | undefined; readonly run: string; readonly logs: string } {
  try {
    makeDataFolder(data);
  } catch (error) {
    throw refusal('folder_not_usable', { reason: messageOf(error) }, { cause: error });
  }
  try {
    const lock = tryLock(join(data, 'start.lock'));
    const logs = join(data, 'logs');
    mkdirSync(logs, { recursive: true, mode: 0o700 });
    return { lock, run: makeRunFolder(data), logs };
  } catch (error) {
    const reason = `The data folder ${data} cannot be used: ${messageOf(error)}.`;
    throw refusal('folder_not_usable', { reason }, { cause: error });
  }
}
