/** The error if it is about the field `name`, else null. Pure. */
export function problemOf(error, name) {
  return error && name && error.field === name ? error : null;
}
