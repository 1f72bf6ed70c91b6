"""What an operator does from the page: each is asked of REST in the operator's name, after a confirmation."""
