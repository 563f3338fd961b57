import type { DatabaseSync } from 'node:sqlite';

/** Findings that are shown: the first ones say where the damage is. */
const shownFindings = 20;
/** Of the primary result codes (https://sqlite.org/rescode.html) those of a file whose content is wrong: CORRUPT, NOTADB. */
const damageCodes = new Set([11, 26]);

/**
 * What a check of SQLite's finds wrong in a file; empty when nothing. `quick_check` takes 3–4 s for each GB, `integrity_check`, which
 * compares the indexes with their tables as well, 11 s. Throws when the file could not be checked.
 */
export function findDamage(database: DatabaseSync, check: 'quick_check' | 'integrity_check'): readonly string[] {
  try {
    const rows = database.prepare(`pragma ${check}(${shownFindings})`).all();
    return rows.map((row) => String(row[check])).filter((finding) => finding !== 'ok');
  } catch (error) {
    // A file may be too damaged to be checked.
    if (error instanceof Error && isDamage(error)) return [error.message];
    throw error;
  }
}

export function isDamage(error: Error): boolean {
  return damageCodes.has(primaryCode(error) ?? 0);
}

/** The low byte of an extended result code is the primary one. */
export function primaryCode(error: Error): number | undefined {
  return 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}
