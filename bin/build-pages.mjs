// Builds the pages of the portal where they are missing or older than their sources. `weir start` runs it beside the gateway
// (src/programs/local/launch-portal.ts) and gets the lines of its progress as messages.
import { ensurePages } from './pages.mjs';

const say = (line) => (process.send === undefined ? console.error(line) : process.send(line));
process.exitCode = (await ensurePages(process.execPath, { say })) ? 0 : 1;
