import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import manifest from '../../package.json' with { type: 'json' };
import { programCache } from '../../src/programs/local/program-cache.ts';
import { takeLock } from '../../src/process/lock.ts';
import { findProgram } from './find-program.ts';

const run = promisify(execFile);
const packageName = '@sparticuz/chromium';

/** Starts Chromium without a window: the machine's own, else the one of a package of npm. */
export async function launchBrowser(): Promise<Browser> {
  return chromium.launch(await findBrowser());
}

/** How Chromium is launched. */
export async function findBrowser(): Promise<LaunchOptions> {
  const executablePath = findProgram({ program: 'chromium' });
  if (executablePath !== undefined) return { executablePath };
  const folder = await unpackedChromium();
  const libraries = [join(folder, 'al2023', 'lib'), process.env['LD_LIBRARY_PATH']].filter(Boolean).join(':');
  const env = { ...process.env, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: join(folder, 'fonts.conf') };
  return { executablePath: join(folder, 'chromium'), env };
}

/** The package unpacks into the folder for temporary files, and its libraries only on the platform that it was made for. */
async function unpackedChromium(): Promise<string> {
  const cache = programCache(process.env, 'chromium', manifest.devDependencies[packageName]);
  const folder = join(cache, 'unpacked');
  const lock = await takeLock(join(cache, 'lock'), () => undefined);
  try {
    if (existsSync(folder)) return folder;
    const temporary = mkdtempSync(join(cache, 'unpacking-'));
    const script = `const { default: chromium } = await import('${packageName}'); await chromium.executablePath();`;
    const env = { ...process.env, TMPDIR: temporary, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' };
    await run(process.execPath, ['--input-type=module', '--eval', script], { env, cwd: import.meta.dirname });
    writeFileSync(join(temporary, 'fonts.conf'), fontsIn(folder));
    renameSync(temporary, folder);
    return folder;
  } finally {
    lock.release();
  }
}

/** The package's own file looks for its fonts below /tmp. A browser without any font ends at the first field of a form. */
function fontsIn(folder: string): string {
  const dir = join(folder, 'fonts');
  const cache = join(folder, 'fonts-cache');
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    `<fontconfig><dir>${dir}</dir><cachedir>${cache}</cachedir></fontconfig>`,
    '',
  ].join('\n');
}
