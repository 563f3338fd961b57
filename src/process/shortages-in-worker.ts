/** Runs in each thread before its script (`startWorker`). */
import { surviveShortagesInThread } from './shortages.ts';

surviveShortagesInThread();
