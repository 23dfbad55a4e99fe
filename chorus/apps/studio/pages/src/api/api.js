// The client of the JSON interface (docs/studio.md): POST /api/NAME with a question, an answer or an ApiError back.

/** Why there is no answer: the server's line, the field it is about, the place in it, legal spellings. */
export class ApiError extends Error {
  constructor({ error, field = null, at = null, spellings = [] }, status) {
    super(error);
    Object.assign(this, { field, at, spellings, status });
  }
}

/**
 * Asks. Fields that are null, undefined or '' are left to the server's defaults. Throws ApiError if refused (status 0
 * if nobody answers), and AbortError if `signal` says that nobody wants to know any more.
 */
export async function post(name, question = {}, signal = undefined) {
  const body = JSON.stringify(question, (_, value) => (value === null || value === '' ? undefined : value));
  let response, answer;
  try {
    response = await fetch(`api/${name}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
    answer = await response.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError({ error: '' }, 0);
  }
  if (!response.ok) throw new ApiError(answer, response.status);
  return answer;
}
