import { statSync } from 'node:fs';
import { release } from 'node:os';
import { countsOpenFiles, openFilesFolder } from '../core/open-files.ts';
import { openFilesLimit } from './machine.ts';

const isCounted = countsOpenFiles(process.platform, release());
const limit = openFilesLimit();

/** The open files of this process as a share of its limit; 0 where one of the two is not known. */
export function openFilesShare(): number {
  return isCounted && limit !== undefined ? statSync(openFilesFolder).size / limit : 0;
}
