// Pages import this file: it has no schemas.

export { errorKinds } from '../../core/error-kinds.ts';
