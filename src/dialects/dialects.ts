import type { Dialect, Surface } from '../core/dialect.ts';
import { chat } from './chat/dialect.ts';
import { messages } from './messages/dialect.ts';

/** The wire formats that callers may speak. */
export const dialects: Readonly<Record<Surface, Dialect>> = { chat, messages };
