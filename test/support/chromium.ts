import { type Browser, chromium } from 'playwright-core';
import { findOrInstall } from './debian-package.ts';

/** Starts Debian's Chromium without a window. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = await findOrInstall({ program: 'chromium', package: 'chromium' });
  return chromium.launch({ executablePath });
}
